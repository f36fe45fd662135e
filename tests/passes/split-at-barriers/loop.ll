; A tree reduction: a barrier in a loop whose counter is the same for all work-items. The loop's head runs once for the group.
; CHECK: i32 @schism.loop
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

declare void @__schism_cpu_barrier(ptr) nounwind
declare void @llvm.assume(i1)
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr %p0, ptr %p1, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) {
start:
  %x.ordered = icmp ule i64 %x.begin, %x.end
  call void @llvm.assume(i1 %x.ordered)
  %memory.at = getelementptr inbounds i8, ptr %group, i64 96
  %memory = load ptr, ptr %memory.at
  %id.at = getelementptr inbounds i8, ptr %group, i64 48
  %id = load i64, ptr %id.at
  %size = sub i64 %x.end, %x.begin
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %from = getelementptr inbounds i32, ptr %p0, i64 %x
  %value = load i32, ptr %from
  %own = getelementptr inbounds i32, ptr %memory, i64 %local
  store i32 %value, ptr %own
  call void @schism.meet.__schism_barrier(ptr %group)
  %half = lshr i64 %size, 1
  br label %loop
loop:
  %stride = phi i64 [ %half, %item ], [ %next, %join ]
  %more = icmp ne i64 %stride, 0
  br i1 %more, label %body, label %end
body:
  %active = icmp ult i64 %local, %stride
  br i1 %active, label %add, label %join
add:
  %other = add i64 %local, %stride
  %other.at = getelementptr inbounds i32, ptr %memory, i64 %other
  %a = load i32, ptr %own
  %b = load i32, ptr %other.at
  %sum = add i32 %a, %b
  store i32 %sum, ptr %own
  br label %join
join:
  call void @schism.meet.__schism_barrier(ptr %group)
  %next = lshr i64 %stride, 1
  br label %loop
end:
  %first = icmp eq i64 %local, 0
  br i1 %first, label %write, label %kernel.exit
write:
  %total = load i32, ptr %memory
  %to = getelementptr inbounds i32, ptr %p1, i64 %id
  store i32 %total, ptr %to
  br label %kernel.exit
kernel.exit:
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
