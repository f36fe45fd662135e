; SPEC kernel: kernel entry 0 1
; Functions that call themselves, at once or over others; two calls of one function are no cycle.
define void @kernel() {
  call void @a()
  call void @leaf()
  call void @leaf()
  call void @self()
  ret void
}
define internal void @a() {
  call void @b()
  ret void
}
define internal void @b() {
  call void @leaf()
  call void @a()
  ret void
}
define internal void @self() {
  call void @self()
  ret void
}
define internal void @leaf() {
  ret void
}
; CHECK: 2 use(s) of what no device has
; CHECK-NEXT: violation: Recursion(["a", "b"]), chain: ["b", "a", "kernel"]
; CHECK-NEXT: violation: Recursion(["self"]), chain: ["self", "kernel"]
; CHECK-NEXT: end of violations
