; The hint of `core::hint::spin_loop` to the host's CPU becomes one to the device.
define void @f() {
  call void @llvm.x86.sse2.pause()
  ret void
}
declare void @llvm.x86.sse2.pause()
; CHECK: define void @f()
; CHECK-NEXT: call void @__schism_pause(i32 64)
; CHECK-NEXT: ret void
; CHECK: declare void @__schism_pause(i32) #1
; CHECK: attributes #1 = { nounwind memory(inaccessiblemem: readwrite) }
