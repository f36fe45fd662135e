; Rows are reduced: the loops that do that in any order are shared out, and the lanes' results are joined.
target triple = "nvptx64-nvidia-cuda"

declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i64 @__schism_row(i64, i64, i64)

; A sum of some elements that promises not to overflow in its order, and the greatest element.
; CHECK-LABEL: @both(
; CHECK: icmp ule i64 %lanes, 256
; CHECK: %[[ENOUGH:[0-9]+]] = icmp uge i64 %iterations, 32
; CHECK: enter:
; CHECK-NEXT: %[[FIRST:[0-9]+]] = icmp eq i64 %lane, 0
; CHECK-NEXT: %[[START:[0-9]+]] = select i1 %[[FIRST]], i32 7, i32 0
; CHECK: loop:
; CHECK: phi i32 [ %[[START]], %enter ], [ %sum.next, %loop ]
; CHECK-NEXT: phi i32 [ 3, %enter ], [ %most.next, %loop ]
; CHECK: %sum.next = add i32
; CHECK: leave:
; CHECK-NEXT: %[[SUM:[0-9]+]] = phi i32 [ %[[START]], %enter ], [ %sum.next, %loop ]
; CHECK-NEXT: %[[MOST:[0-9]+]] = phi i32 [ 3, %enter ], [ %most.next, %loop ]
; CHECK-NEXT: %[[OWN:[0-9]+]] = getelementptr i64, ptr addrspace(3) @schism.partial, i64 %lane
; CHECK-NEXT: %[[WIDE:[0-9]+]] = zext i32 %[[SUM]] to i64
; CHECK-NEXT: store i64 %[[WIDE]], ptr addrspace(3) %[[OWN]]
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: br label %join
; CHECK: add nsw i32
; CHECK: join:
; CHECK-NEXT: %count = phi i64 [ %lanes, %leave ], [ %half, %met ]
; CHECK: both:
; CHECK: add i32
; CHECK: met:
; CHECK-NEXT: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK-NEXT: icmp ugt i64 %half, 1
; CHECK: joined:
; CHECK-NEXT: load i64, ptr addrspace(3) @schism.partial
; CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK: call i32 @llvm.umax.i32(
define ptx_kernel void @both(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %a.row = getelementptr i32, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %loop
loop:
  %i = phi i64 [ 0, %row.begin ], [ %i.next, %loop ]
  %sum = phi i32 [ 7, %row.begin ], [ %sum.next, %loop ]
  %most = phi i32 [ 3, %row.begin ], [ %most.next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %a.row, i64 %i
  %value = load i32, ptr addrspace(1) %at
  %odd = and i32 %value, 1
  %counts = icmp eq i32 %odd, 0
  %more = add nsw i32 %sum, %value
  %sum.next = select i1 %counts, i32 %more, i32 %sum
  %is.greater = icmp ugt i32 %value, %most
  %most.next = select i1 %is.greater, i32 %value, i32 %most
  %i.next = add nuw i64 %i, 1
  %is.last = icmp eq i64 %i.next, %n
  br i1 %is.last, label %after, label %loop
after:
  %s = phi i32 [ %sum.next, %loop ]
  %m = phi i32 [ %most.next, %loop ]
  %result = xor i32 %s, %m
  %place = getelementptr i32, ptr addrspace(1) %c, i64 %row
  store i32 %result, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

; The greatest of floating-point numbers: each lane begins with what the loop began with.
; CHECK-LABEL: @greatest(
; CHECK-NOT: @__schism_row(
; CHECK: enter:
; CHECK: phi float [ 0xFFF0000000000000, %enter ], [ %most.next, %loop ]
; CHECK: both:
; CHECK: call float @llvm.maxnum.f32(
define ptx_kernel void @greatest(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %a.row = getelementptr float, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %loop
loop:
  %i = phi i64 [ 0, %row.begin ], [ %i.next, %loop ]
  %most = phi float [ 0xFFF0000000000000, %row.begin ], [ %most.next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %a.row, i64 %i
  %value = load float, ptr addrspace(1) %at
  %most.next = call float @llvm.maxnum.f32(float %most, float %value)
  %i.next = add nuw i64 %i, 1
  %is.last = icmp eq i64 %i.next, %n
  br i1 %is.last, label %after, label %loop
after:
  %m = phi float [ %most.next, %loop ]
  %place = getelementptr float, ptr addrspace(1) %c, i64 %row
  store float %m, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

; A sum of floating-point numbers depends on its order.
; CHECK-LABEL: @ordered(
; CHECK: call i64 @__schism_row(
; CHECK-NOT: enter:
define ptx_kernel void @ordered(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %a.row = getelementptr float, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %loop
loop:
  %i = phi i64 [ 0, %row.begin ], [ %i.next, %loop ]
  %sum = phi float [ 0.0, %row.begin ], [ %sum.next, %loop ]
  %at = getelementptr float, ptr addrspace(1) %a.row, i64 %i
  %value = load float, ptr addrspace(1) %at
  %sum.next = fadd float %sum, %value
  %i.next = add nuw i64 %i, 1
  %is.last = icmp eq i64 %i.next, %n
  br i1 %is.last, label %after, label %loop
after:
  %s = phi float [ %sum.next, %loop ]
  %place = getelementptr float, ptr addrspace(1) %c, i64 %row
  store float %s, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

; What an iteration has added decides what the next one adds.
; CHECK-LABEL: @compared(
; CHECK: call i64 @__schism_row(
; CHECK-NOT: enter:
define ptx_kernel void @compared(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %a.row = getelementptr i32, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %loop
loop:
  %i = phi i64 [ 0, %row.begin ], [ %i.next, %loop ]
  %sum = phi i32 [ 0, %row.begin ], [ %sum.next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %a.row, i64 %i
  %value = load i32, ptr addrspace(1) %at
  %is.small = icmp ult i32 %sum, 100
  %more = add i32 %sum, %value
  %sum.next = select i1 %is.small, i32 %more, i32 %sum
  %i.next = add nuw i64 %i, 1
  %is.last = icmp eq i64 %i.next, %n
  br i1 %is.last, label %after, label %loop
after:
  %s = phi i32 [ %sum.next, %loop ]
  %place = getelementptr i32, ptr addrspace(1) %c, i64 %row
  store i32 %s, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

; Sums and products in turn depend on their order.
; CHECK-LABEL: @mixed(
; CHECK: call i64 @__schism_row(
; CHECK-NOT: enter:
define ptx_kernel void @mixed(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %a.row = getelementptr i32, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %loop
loop:
  %i = phi i64 [ 0, %row.begin ], [ %i.next, %loop ]
  %sum = phi i32 [ 0, %row.begin ], [ %sum.next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %a.row, i64 %i
  %value = load i32, ptr addrspace(1) %at
  %more = add i32 %sum, %value
  %sum.next = mul i32 %more, 3
  %i.next = add nuw i64 %i, 1
  %is.last = icmp eq i64 %i.next, %n
  br i1 %is.last, label %after, label %loop
after:
  %s = phi i32 [ %sum.next, %loop ]
  %place = getelementptr i32, ptr addrspace(1) %c, i64 %row
  store i32 %s, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

; The sum of each iteration is stored.
; CHECK-LABEL: @prefixes(
; CHECK: call i64 @__schism_row(
; CHECK-NOT: enter:
define ptx_kernel void @prefixes(ptr addrspace(1) %c, ptr addrspace(1) %a, ptr addrspace(1) %b, i64 %n, i64 %rows) {
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
  %a.row = getelementptr i32, ptr addrspace(1) %a, i64 %first
  %is.empty = icmp eq i64 %n, 0
  br i1 %is.empty, label %end, label %loop
loop:
  %i = phi i64 [ 0, %row.begin ], [ %i.next, %loop ]
  %sum = phi i32 [ 0, %row.begin ], [ %sum.next, %loop ]
  %at = getelementptr i32, ptr addrspace(1) %a.row, i64 %i
  %value = load i32, ptr addrspace(1) %at
  %sum.next = add i32 %sum, %value
  store i32 %sum.next, ptr addrspace(1) %at
  %i.next = add nuw i64 %i, 1
  %is.last = icmp eq i64 %i.next, %n
  br i1 %is.last, label %after, label %loop
after:
  %s = phi i32 [ %sum.next, %loop ]
  %place = getelementptr i32, ptr addrspace(1) %c, i64 %row
  store i32 %s, ptr addrspace(1) %place
  br label %end
end:
  ret void
}

declare float @llvm.maxnum.f32(float, float)

attributes #0 = { convergent nounwind }
attributes #1 = { nounwind memory(none) speculatable willreturn }
