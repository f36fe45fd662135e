; One local keeps its contents across the barrier, and is an array; the other does not, and stays where it is.
; CHECK: i32 @schism.loop
; CHECK: alloca [4 x i32]
; CHECK-NOT: alloca [8 x i32]
; CHECK: getelementptr inbounds nuw [32 x i8], ptr
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
  %kept = alloca [8 x i32]
  %brief = alloca [4 x i32]
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.begin
  %own = getelementptr inbounds i32, ptr %p, i64 %x
  %at = getelementptr inbounds i32, ptr %q, i64 %local
  call void @llvm.lifetime.start.p0(ptr %kept)
  call void @llvm.lifetime.start.p0(ptr %brief)
  %place = and i64 %local, 3
  %in.kept = getelementptr inbounds [8 x i32], ptr %kept, i64 0, i64 %place
  %in.brief = getelementptr inbounds [4 x i32], ptr %brief, i64 0, i64 %place
  store i32 %n, ptr %in.kept
  store i32 5, ptr %in.brief
  %x.place = getelementptr inbounds [4 x i32], ptr %brief, i64 0, i64 1
  %brief.value = load i32, ptr %x.place
  store i32 %brief.value, ptr %at
  call void @llvm.lifetime.end.p0(ptr %brief)
  call void @schism.meet.__schism_barrier(ptr %group)
  %again = getelementptr inbounds [8 x i32], ptr %kept, i64 0, i64 2
  %value = load i32, ptr %again
  store i32 %value, ptr %own
  call void @llvm.lifetime.end.p0(ptr %kept)
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1}
