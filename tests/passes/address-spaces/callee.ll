; SPEC target: amdgcn-amd-amdhsa
; SPEC kernel: kernel entry 0 1
; A local goes to a function that was not inlined: there it is generic.
define void @kernel(i32 %v) {
  %local = alloca i32
  store volatile i32 %v, ptr %local
  call void @callee(ptr %local)
  ret void
}
define internal void @callee(ptr %p) noinline {
  store volatile i32 3, ptr %p
  ret void
}
; CHECK: define internal void @callee(ptr %p)
; CHECK-NEXT: store volatile i32 3, ptr %p
; CHECK: %local = alloca i32, align 4, addrspace(5)
; CHECK: %{{.*}} = addrspacecast ptr addrspace(5) %local to ptr
; CHECK: call void @callee(ptr %
