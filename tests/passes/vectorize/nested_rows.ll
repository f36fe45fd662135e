; Sums of products inside of a loop over columns: the columns are shared out, and each sum stays in its order.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i64 @__schism_row(i64, i64, i64)

; A comparison says whether what the inner loop counts through is apart from the row that is stored.
; CHECK-LABEL: @product(
; CHECK: call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %{{[0-9]+}}, i64 %{{[0-9]+}})
; CHECK: enter:
; CHECK: %iteration = phi i64 [ %lane, %enter ], [ %iteration.next, %column.latch ]
; CHECK: term:
; CHECK: fadd double
; CHECK-NOT: @schism.partial
define ptx_kernel void @product(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %first = mul i64 %row, %n
  %a.row = getelementptr double, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %column
column:
  %j = phi i64 [ 0, %row.begin ], [ %j.next, %column.latch ]
  %terms = add i64 %n, 0
  br label %term
term:
  %k = phi i64 [ 0, %column ], [ %k.next, %term ]
  %sum = phi double [ 0.0, %column ], [ %sum.next, %term ]
  %left.at = getelementptr double, ptr addrspace(1) %a.row, i64 %k
  %left = load double, ptr addrspace(1) %left.at
  %k.row = mul i64 %k, %n
  %place = add i64 %k.row, %j
  %right.at = getelementptr double, ptr addrspace(1) %b, i64 %place
  %right = load double, ptr addrspace(1) %right.at
  %product = fmul double %left, %right
  %sum.next = fadd double %sum, %product
  %k.next = add nuw i64 %k, 1
  %is.last.term = icmp eq i64 %k.next, %terms
  br i1 %is.last.term, label %column.latch, label %term
column.latch:
  %result = phi double [ %sum.next, %term ]
  %c.row = getelementptr double, ptr addrspace(1) %c, i64 %first
  %to = getelementptr double, ptr addrspace(1) %c.row, i64 %j
  store double %result, ptr addrspace(1) %to
  %j.next = add nuw i64 %j, 1
  %is.last = icmp eq i64 %j.next, %n
  br i1 %is.last, label %end, label %column
end:
  ret void
}

; The inner loop reads the row that is stored.
; CHECK-LABEL: @own_row(
; CHECK: call i64 @__schism_row(
; CHECK-NOT: enter:
define ptx_kernel void @own_row(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %first = mul i64 %row, %n
  %a.row = getelementptr double, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %column
column:
  %j = phi i64 [ 0, %row.begin ], [ %j.next, %column.latch ]
  %terms = add i64 %n, 0
  br label %term
term:
  %k = phi i64 [ 0, %column ], [ %k.next, %term ]
  %sum = phi double [ 0.0, %column ], [ %sum.next, %term ]
  %left.at = getelementptr double, ptr addrspace(1) %a.row, i64 %k
  %left = load double, ptr addrspace(1) %left.at
  %k.row = add i64 %first, %k
  %right.at = getelementptr double, ptr addrspace(1) %c, i64 %k.row
  %right = load double, ptr addrspace(1) %right.at
  %product = fmul double %left, %right
  %sum.next = fadd double %sum, %product
  %k.next = add nuw i64 %k, 1
  %is.last.term = icmp eq i64 %k.next, %terms
  br i1 %is.last.term, label %column.latch, label %term
column.latch:
  %result = phi double [ %sum.next, %term ]
  %c.row = getelementptr double, ptr addrspace(1) %c, i64 %first
  %to = getelementptr double, ptr addrspace(1) %c.row, i64 %j
  store double %result, ptr addrspace(1) %to
  %j.next = add nuw i64 %j, 1
  %is.last = icmp eq i64 %j.next, %n
  br i1 %is.last, label %end, label %column
end:
  ret void
}

; How far the inner loop goes depends on the column, and nothing checks what it reads.
; CHECK-LABEL: @growing(
; CHECK: call i64 @__schism_row(
; CHECK-NOT: enter:
define ptx_kernel void @growing(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %first = mul i64 %row, %n
  %a.row = getelementptr double, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %column
column:
  %j = phi i64 [ 0, %row.begin ], [ %j.next, %column.latch ]
  %terms = add i64 %j, 1
  br label %term
term:
  %k = phi i64 [ 0, %column ], [ %k.next, %term ]
  %sum = phi double [ 0.0, %column ], [ %sum.next, %term ]
  %left.at = getelementptr double, ptr addrspace(1) %a.row, i64 %k
  %left = load double, ptr addrspace(1) %left.at
  %k.row = mul i64 %k, %n
  %place = add i64 %k.row, %j
  %right.at = getelementptr double, ptr addrspace(1) %b, i64 %place
  %right = load double, ptr addrspace(1) %right.at
  %product = fmul double %left, %right
  %sum.next = fadd double %sum, %product
  %k.next = add nuw i64 %k, 1
  %is.last.term = icmp eq i64 %k.next, %terms
  br i1 %is.last.term, label %column.latch, label %term
column.latch:
  %result = phi double [ %sum.next, %term ]
  %c.row = getelementptr double, ptr addrspace(1) %c, i64 %first
  %to = getelementptr double, ptr addrspace(1) %c.row, i64 %j
  store double %result, ptr addrspace(1) %to
  %j.next = add nuw i64 %j, 1
  %is.last = icmp eq i64 %j.next, %n
  br i1 %is.last, label %end, label %column
end:
  ret void
}

attributes #0 = { convergent nounwind }
attributes #1 = { nounwind memory(none) speculatable willreturn }
