; SPEC kernel: kernel entry 0 1
; Two barriers, each with a check in front of it: each has a note of its own, and both lead to the kernel's begin.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #0
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent nounwind
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
@shared = external addrspace(3) global [0 x i64]
define void @kernel(ptr addrspace(1) %p, i64 %len, ptr addrspace(1) %to) {
entry:
  %tid = call range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr [0 x i64], ptr addrspace(3) @shared, i64 0, i32 %tid
  %index = load i64, ptr addrspace(1) %p
  %is.inside = icmp ult i64 %index, %len
  br i1 %is.inside, label %first, label %panic
first:
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %index
  %second.index = load i64, ptr addrspace(1) %at
  store i64 %second.index, ptr addrspace(3) %place
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %is.second.inside = icmp ult i64 %second.index, %len
  br i1 %is.second.inside, label %second, label %panic
second:
  %second.at = getelementptr i64, ptr addrspace(1) %p, i64 %second.index
  %value = load i64, ptr addrspace(1) %second.at
  store i64 %value, ptr addrspace(3) %place
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i64 %value, ptr addrspace(1) %to
  ret void
panic:
  %told = phi i64 [ %index, %entry ], [ %second.index, %first ]
  call void @__schism_panic(ptr null, i64 %told, ptr null)
  unreachable
}
attributes #0 = { nounwind willreturn memory(none) }
; CHECK: store atomic i32 0, ptr addrspace(3) @__schism_bailout.0
; CHECK: store atomic i32 0, ptr addrspace(3) @__schism_bailout.1
; CHECK: br i1 true, label %entry, label %13
; CHECK: store atomic i32 1, ptr addrspace(3) @__schism_bailout.0
; CHECK: %4 = phi i64 [ %second.index, %1 ], [ poison, %2 ]
; CHECK: load atomic i32, ptr addrspace(3) @__schism_bailout.0
; CHECK: br i1 %6, label %13, label %first
; CHECK: store atomic i32 1, ptr addrspace(3) @__schism_bailout.1
; CHECK: load atomic i32, ptr addrspace(3) @__schism_bailout.1
; CHECK: br i1 %12, label %13, label %second
; CHECK: 13: ; preds = %3, %9, %0
