; SPEC kernel: a entry 0 1
; SPEC kernel: b entry 0 1
; SPEC part: a
; A kernel that another one uses stays, hidden.
define void @a() {
  call void @b()
  ret void
}
define void @b() {
  ret void
}
; CHECK: define void @a()
; CHECK: define internal void @b()
