; The hint of `core::hint::spin_loop` means nothing to a device.
define void @f() {
  call void @llvm.x86.sse2.pause()
  ret void
}
declare void @llvm.x86.sse2.pause()
; CHECK: define void @f()
; CHECK-NEXT: ret void
