; So are barriers in functions of their own.
; CHECK: i32 @schism.loop
; CHECK: call void @schism.meet.__schism_barrier
; CHECK: "schism-uncut"="a function outside of the loop function waits"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr %p, ptr %q, i32 %n, i1 %c, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) {
start:
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %own = getelementptr inbounds i32, ptr %p, i64 %x
  %at = getelementptr inbounds i32, ptr %q, i64 %local
  call void @recursive(ptr %group, i32 %n)
  call void @schism.meet.__schism_barrier(ptr %group)
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
define internal void @recursive(ptr %group, i32 %n) noinline {
  %zero = icmp eq i32 %n, 0
  br i1 %zero, label %end, label %more
more:
  call void @__schism_cpu_barrier(ptr %group)
  %less = sub i32 %n, 1
  call void @recursive(ptr %group, i32 %less)
  br label %end
end:
  ret void
}
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
