; Whether the loop continues is read from memory: each work-item notes where it continues, and the process compares that.
; CHECK: i32 @schism.loop
; CHECK: phi i32 [ 0, %region.3.done ], [ 2, %diverged ], [ 3, %group.begin ]
; CHECK: call i32 @__schism_cpu_agree(ptr %group, ptr nonnull %memory
; CHECK: store i32 3, ptr
; CHECK: store i32 0, ptr
; CHECK: "schism-cut"
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
  br label %loop
loop:
  store i32 1, ptr %at
  call void @schism.meet.__schism_barrier(ptr %group)
  %flag = load i32, ptr %q
  %more = icmp ne i32 %flag, 0
  br i1 %more, label %loop, label %end
end:
  store i32 %flag, ptr %own
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
