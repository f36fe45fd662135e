; SPEC kernel: kernel entry 0 1
; What no kernel calls goes, what one calls becomes internal.
define void @kernel() {
  call void @a()
  ret void
}
define void @a() {
  ret void
}
define void @b() {
  call void @c()
  ret void
}
define linkonce_odr hidden void @c() {
  ret void
}
; CHECK: define void @kernel()
; CHECK: define internal void @a()
; CHECK-NOT: @b
; CHECK-NOT: @c
