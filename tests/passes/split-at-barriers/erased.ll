; Scopes and lifetimes of the body are gone before local memory is taken: a new call may have the place of an old one.
; CHECK: i32 @schism.loop
; CHECK: %local.memory = call ptr @schism.local_memory(ptr %group)
; CHECK-NOT: noalias.scope
; CHECK: getelementptr inbounds {{.*}} ptr %local.memory
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
declare void @llvm.experimental.noalias.scope.decl(metadata)
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr noalias %from, ptr noalias %to, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) #0 {
start:
  %first.at = getelementptr inbounds i8, ptr %group, i64 0
  %x.group.first = load i64, ptr %first.at
  %memory.at = getelementptr inbounds i8, ptr %group, i64 96
  %memory = load ptr, ptr %memory.at
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  %local = sub nuw nsw i64 %x, %x.group.first
  %own = getelementptr inbounds i32, ptr %from, i64 %x
  %v = load i32, ptr %own
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  %mine = getelementptr inbounds i32, ptr %memory, i64 %local
  store atomic i32 %v, ptr %mine monotonic, align 4
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  call void @schism.meet.__schism_barrier(ptr %group)
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  %other = xor i64 %local, 1
  %theirs = getelementptr inbounds i32, ptr %memory, i64 %other
  %sum = load atomic i32, ptr %theirs monotonic, align 4
  %out = getelementptr inbounds i32, ptr %to, i64 %x
  store i32 %sum, ptr %out
  br label %x.next
x.next:
  call void @llvm.experimental.noalias.scope.decl(metadata !4)
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
done:
  ret i32 0
}
attributes #0 = { "schism-group-first"="0" "schism-group-local-memory"="96" }
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1, !3}
!3 = !{!"schism.work_item_loop"}
!4 = !{!5}
!5 = distinct !{!5, !6}
!6 = distinct !{!6}
