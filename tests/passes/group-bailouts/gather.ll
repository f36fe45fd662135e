; SPEC kernel: kernel entry 0 1
; What is loaded chooses an element, and the group exchanges sums. A failed check is noted, and the group runs the checked copy behind the
; barrier. The address of the sum's place is computed again, and the sum is a phi.
declare i64 @llvm.spv.thread.id.i64(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent nounwind
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
@shared = external addrspace(3) global [0 x float]
define void @kernel(ptr addrspace(1) %p, ptr addrspace(1) %x, i64 noundef range(i64 0, 2147483648) %len, ptr addrspace(1) %to) {
entry:
  %id = call range(i64 0, 2147483648) i64 @llvm.spv.thread.id.i64(i32 0)
  %tid = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %index.at = getelementptr i32, ptr addrspace(1) %p, i64 %id
  %index = load i32, ptr addrspace(1) %index.at
  %wide = zext i32 %index to i64
  %is.inside = icmp ult i64 %wide, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %at = getelementptr float, ptr addrspace(1) %x, i64 %wide
  %value = load float, ptr addrspace(1) %at
  %twice = fadd float %value, %value
  %place = getelementptr [0 x float], ptr addrspace(3) @shared, i64 0, i32 %tid
  store atomic float %twice, ptr addrspace(3) %place syncscope("block") monotonic, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %other = load atomic float, ptr addrspace(3) %place syncscope("block") monotonic, align 4
  %sum = fadd float %other, %twice
  %there = getelementptr float, ptr addrspace(1) %to, i64 %id
  store float %sum, ptr addrspace(1) %there
  ret void
panic:
  call void @__schism_panic(ptr null, i64 %wide, ptr null)
  unreachable
}
attributes #0 = { nounwind willreturn memory(none) }
; CHECK: @__schism_bailout.0 = external addrspace(3) global i32, align 4
; CHECK: store atomic i32 0, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic, align 4
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: br i1 true, label %entry, label %8
; CHECK: br i1 %is.inside, label %1, label %2
; CHECK: 2: ; preds = %entry
; CHECK-NEXT: store atomic i32 1, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic, align 4
; CHECK-NEXT: br label %3
; CHECK: %4 = phi float [ %twice, %1 ], [ poison, %2 ]
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: %5 = load atomic i32, ptr addrspace(3) @__schism_bailout.0 syncscope("block") monotonic, align 4
; CHECK-NEXT: %6 = icmp ne i32 %5, 0
; CHECK-NEXT: br i1 %6, label %8, label %inside
; CHECK: inside:
; CHECK-NEXT: %7 = getelementptr [0 x float], ptr addrspace(3) @shared, i64 0, i32 %tid
; CHECK: %sum = fadd float %other, %4
; The checked copy.
; CHECK: 8: ; preds = %3, %0
; CHECK: br i1 %14, label %15, label %23
; CHECK: fence syncscope("block") acq_rel
