; Operations of sub-groups: all work-items leave their operands, and loops compute what lanes receive.
; CHECK: i32 @schism.loop
; CHECK-NOT: @schism.meet
; CHECK: and i64 {{.*}}, 31
; CHECK: xor i64 {{.*}}, 5
; CHECK: select i1
; CHECK: shl nuw i32
; CHECK-NOT: @schism.meet
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
declare i32 @__schism_cpu_sub_group(ptr, i32, i32, i32) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define internal i32 @schism.meet.__schism_ballot(ptr %group, i32 %value) alwaysinline convergent nounwind {
  %result = call i32 @__schism_cpu_sub_group(ptr %group, i32 4, i32 %value, i32 0)
  ret i32 %result
}
define internal i32 @schism.meet.__schism_shuffle_xor(ptr %group, i32 %value, i32 %argument) alwaysinline convergent nounwind {
  %result = call i32 @__schism_cpu_sub_group(ptr %group, i32 1, i32 %value, i32 %argument)
  ret i32 %result
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
  %v = load i32, ptr %own
  %s = call i32 @schism.meet.__schism_shuffle_xor(ptr %group, i32 %v, i32 5)
  %sum = add i32 %s, %v
  %r = call i32 @schism.meet.__schism_ballot(ptr %group, i32 %sum)
  store i32 %r, ptr %at
  call void @schism.meet.__schism_barrier(ptr %group)
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
