; Each row of a matrix is scaled and its length noted: the loop is shared out, and one lane stores the length.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i64 @__schism_row(i64, i64, i64)

; CHECK-LABEL: @scale(
; CHECK: %is.there = icmp ult i64 %group, %rows
; CHECK: br i1 %{{[0-9]+}}, label %enter, label %[[ORDERED:[0-9]+]]
; CHECK: enter:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: %[[SOME:[0-9]+]] = icmp ult i64 %lane, %iterations
; CHECK-NEXT: br i1 %[[SOME]], label %loop, label %leave
; CHECK: loop:
; CHECK-NEXT: %iteration = phi i64 [ %lane, %enter ], [ %iteration.next, %loop ]
; CHECK: store float %new, ptr addrspace(1) %at
; CHECK: %iteration.next = add nuw i64 %iteration, %lanes
; CHECK: %[[LAST:[0-9]+]] = icmp uge i64 %iteration.next, %iterations
; CHECK-NEXT: br i1 %[[LAST]], label %leave, label %loop
; CHECK: leave:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK: [[ORDERED]]:
; CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: icmp eq i64 %lane, 0
; CHECK: store float
; CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK: %place = getelementptr i64, ptr addrspace(1) %lengths, i64 %group
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: %[[FIRST:[0-9]+]] = icmp eq i64 %lane, 0
; CHECK-NEXT: br i1 %[[FIRST]], label %[[ONCE:[0-9]+]], label %after
; CHECK: [[ONCE]]:
; CHECK-NEXT: store i64 %columns, ptr addrspace(1) %place
; CHECK: after:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
define ptx_kernel void @scale(ptr addrspace(1) %matrix, ptr addrspace(1) %lengths, i64 %columns, i64 %rows) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %is.there = icmp ult i64 %row, %rows
  br i1 %is.there, label %row.begin, label %end
row.begin:
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  %is.empty = icmp eq i64 %columns, 0
  br i1 %is.empty, label %after, label %loop
loop:
  %column = phi i64 [ 0, %row.begin ], [ %column.next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  %place = getelementptr i64, ptr addrspace(1) %lengths, i64 %row
  store i64 %columns, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

attributes #0 = { convergent nounwind }
attributes #1 = { nounwind memory(none) speculatable willreturn }
