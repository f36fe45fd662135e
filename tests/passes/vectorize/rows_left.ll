; Kernels whose lanes run an item each: none of their loops is shared out.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i64 @__schism_row(i64, i64, i64)
declare void @effect()
declare void @__schism_panic(ptr, i64, ptr)
@message = constant [1 x i8] c"x"

; Each iteration loads what the one before it has stored.
; CHECK-LABEL: @carried(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @carried(ptr addrspace(1) %matrix, i64 %columns) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  %to = getelementptr float, ptr addrspace(1) %at, i64 1
  store float %new, ptr addrspace(1) %to
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; Iterations store where loaded numbers say.
; CHECK-LABEL: @scattered(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @scattered(ptr addrspace(1) %matrix, i64 %columns, ptr addrspace(1) %indices) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %place = getelementptr i64, ptr addrspace(1) %indices, i64 %column
  %index = load i64, ptr addrspace(1) %place
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %index
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; All iterations store at the same place.
; CHECK-LABEL: @one_place(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @one_place(ptr addrspace(1) %matrix, i64 %columns) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %from = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %value = load volatile float, ptr addrspace(1) %from
  store float %value, ptr addrspace(1) %begin
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; The item counts what all see.
; CHECK-LABEL: @counted(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @counted(ptr addrspace(1) %matrix, i64 %columns, ptr addrspace(1) %counter) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  %number = atomicrmw add ptr addrspace(1) %counter, i64 1 monotonic
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; What is called has effects, and is none for each lane.
; CHECK-LABEL: @calls(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @calls(ptr addrspace(1) %matrix, i64 %columns) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  call void @effect()
  ret void
}

; Lanes may read different values.
; CHECK-LABEL: @reads(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @reads(ptr addrspace(1) %matrix, i64 %columns, ptr addrspace(1) %flag) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  %value = load atomic i64, ptr addrspace(1) %flag monotonic, align 8
  %is.set = icmp ne i64 %value, 0
  %which = select i1 %is.set, i64 0, i64 1
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; The number of the lane is part of a result.
; CHECK-LABEL: @tells(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @tells(ptr addrspace(1) %matrix, i64 %columns) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  %number = uitofp i64 %lane to float
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fadd float %old, %number
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; Each lane has another local.
; CHECK-LABEL: @keeps(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @keeps(ptr addrspace(1) %matrix, i64 %columns, ptr addrspace(1) %keeper) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  %local = alloca i64
  store ptr %local, ptr addrspace(1) %keeper
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; An iteration may panic, and those behind it would have stored.
; CHECK-LABEL: @panics(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @panics(ptr addrspace(1) %matrix, i64 %columns, i64 %length) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %is.inside = icmp ult i64 %column, %length
  br i1 %is.inside, label %inside, label %outside
outside:
  call void @__schism_panic(ptr @message, i64 1, ptr @message)
  unreachable
inside:
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; What an iteration loads ends the loop.
; CHECK-LABEL: @ends_early(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @ends_early(ptr addrspace(1) %matrix, i64 %columns) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %latch ]
  %value.at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %value = load float, ptr addrspace(1) %value.at
  %is.end = fcmp oeq float %value, 0.0
  br i1 %is.end, label %after, label %inside
inside:
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %old = load float, ptr addrspace(1) %at
  %new = fmul float %old, 2.0
  store float %new, ptr addrspace(1) %at
  br label %latch
latch:
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}

; A sum goes from one iteration to the next.
; CHECK-LABEL: @sums(
; CHECK: %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
; CHECK-NOT: %enter
define ptx_kernel void @sums(ptr addrspace(1) %matrix, i64 %columns, ptr addrspace(1) %sums) {
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = zext i32 %tid to i64
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %lanes = zext i32 %ntid to i64
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %group = zext i32 %ctaid to i64
  %row = call i64 @__schism_row(i64 %group, i64 %lanes, i64 %lane)
  %first = mul i64 %row, %columns
  %begin = getelementptr float, ptr addrspace(1) %matrix, i64 %first
  br label %loop
loop:
  %column = phi i64 [ 0, %start ], [ %column.next, %loop ]
  %sum = phi float [ 0.0, %start ], [ %sum.next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %begin, i64 %column
  %value = load float, ptr addrspace(1) %at
  %sum.next = fadd float %sum, %value
  store float %sum.next, ptr addrspace(1) %at
  %column.next = add nuw i64 %column, 1
  %is.last = icmp eq i64 %column.next, %columns
  br i1 %is.last, label %after, label %loop
after:
  ret void
}
