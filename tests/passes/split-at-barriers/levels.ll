; Where the size of groups is known, the levels of a tree are regions, whose conditions have constants. Local memory aliases nothing.
; CHECK: i32 @schism.loop
; CHECK: call ptr @schism.local_memory(ptr %group)
; CHECK: icmp samesign ult i64 %x.local{{.*}}, 128
; CHECK: icmp samesign ult i64 %x.local{{.*}}, 64
; CHECK: icmp samesign ult i64 %x.local{{.*}}, 2
; CHECK: noalias ptr @schism.local_memory
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr noalias %from, ptr noalias %sums, i64 %x.begin, i64 %x.end, i64 %x.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) #0 {
start:
  %first.at = getelementptr inbounds i8, ptr %group, i64 0
  %x.group.first = load i64, ptr %first.at
  %id.at = getelementptr inbounds i8, ptr %group, i64 48
  %id = load i64, ptr %id.at
  %memory.at = getelementptr inbounds i8, ptr %group, i64 96
  %memory = load ptr, ptr %memory.at
  br label %x.head
x.head:
  %x = phi i64 [ %x.begin, %start ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %done
item:
  %local = sub nuw nsw i64 %x, %x.group.first
  %own = getelementptr inbounds i32, ptr %from, i64 %x
  %v = load i32, ptr %own
  %mine = getelementptr inbounds i32, ptr %memory, i64 %local
  store atomic i32 %v, ptr %mine monotonic, align 4
  call void @schism.meet.__schism_barrier(ptr %group)
  br label %while
while:
  %half = phi i64 [ 128, %item ], [ %half.next, %after ]
  %more = icmp ne i64 %half, 0
  br i1 %more, label %body, label %out
body:
  %is = icmp ult i64 %local, %half
  br i1 %is, label %add, label %after
add:
  %j = add i64 %local, %half
  %ok = icmp ult i64 %j, 256
  br i1 %ok, label %add2, label %bad
add2:
  %other = getelementptr inbounds i32, ptr %memory, i64 %j
  %a = load atomic i32, ptr %mine monotonic, align 4
  %b = load atomic i32, ptr %other monotonic, align 4
  %c = add i32 %a, %b
  store atomic i32 %c, ptr %mine monotonic, align 4
  br label %after
after:
  call void @schism.meet.__schism_barrier(ptr %group)
  %half.next = lshr i64 %half, 1
  br label %while
out:
  %lead = icmp eq i64 %local, 0
  br i1 %lead, label %put, label %x.next
put:
  %sum = load atomic i32, ptr %memory monotonic, align 4
  %to = getelementptr inbounds i32, ptr %sums, i64 %id
  store i32 %sum, ptr %to
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
bad:
  store i32 1, ptr %panic
  ret i32 1
done:
  ret i32 0
}
attributes #0 = { "schism-group-first"="0" "schism-group-local-memory"="96" "schism-group-size"="256,1,1" }
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1, !3}
!3 = !{!"schism.work_item_loop"}
