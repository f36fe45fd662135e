; A group of three dimensions: the position in the group, with x as the fastest.
; CHECK: i32 @schism.loop
; CHECK: z.head:
; CHECK: y.head:
; CHECK: x.head:
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr %p, ptr %q, i32 %n, i1 %c, i64 %x.begin, i64 %x.end, i64 %x.range, i64 %y.begin, i64 %y.end, i64 %y.range, i64 %z.begin, i64 %z.end, i64 %z.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) {
start:
  br label %z.head
z.head:
  %z = phi i64 [ %z.begin, %start ], [ %z.after, %z.next ]
  %z.more = icmp ult i64 %z, %z.end
  br i1 %z.more, label %y.head, label %done
y.head:
  %y = phi i64 [ %y.begin, %z.head ], [ %y.after, %y.next ]
  %y.more = icmp ult i64 %y, %y.end
  br i1 %y.more, label %x.head, label %z.next
x.head:
  %x = phi i64 [ %x.begin, %y.head ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %y.next
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %own = getelementptr inbounds i32, ptr %p, i64 %x
  %at = getelementptr inbounds i32, ptr %q, i64 %local
  %value = load i32, ptr %own
  call void @schism.meet.__schism_barrier(ptr %group)
  store i32 %value, ptr %own
  %yz = add i64 %y, %z
  %to = getelementptr inbounds i32, ptr %q, i64 %yz
  store i32 1, ptr %to
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
y.next:
  %y.after = add nuw nsw i64 %y, 1
  br label %y.head, !llvm.loop !3
z.next:
  %z.after = add nuw nsw i64 %z, 1
  br label %z.head, !llvm.loop !4
done:
  ret i32 0
}
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
!3 = distinct !{!3, !1}
!4 = distinct !{!4, !1}
