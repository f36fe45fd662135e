; Where the size of groups is known, a work-item of each of four rows runs at once: they load the same elements of the second tile.
; CHECK: i32 @schism.loop
; CHECK: add nuw nsw i64 %y.local{{.*}}, 4
; CHECK: fmul float
; CHECK: fmul float
; CHECK: fmul float
; CHECK: fmul float
; CHECK: fadd float
; CHECK: "schism-cut"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"
declare void @__schism_cpu_barrier(ptr) nounwind
define internal void @schism.meet.__schism_barrier(ptr %group) alwaysinline convergent nounwind {
  call void @__schism_cpu_barrier(ptr %group)
  ret void
}
define i32 @schism.loop(ptr noalias readonly %a, i64 %alen, ptr noalias readonly %b, ptr noalias %c, i64 %x.begin, i64 %x.end, i64 %x.range, i64 %y.begin, i64 %y.end, i64 %y.range, ptr %group, ptr noalias captures(none) %panic, ptr %context) #0 {
start:
  %first.at = getelementptr inbounds i8, ptr %group, i64 0
  %x.group.first = load i64, ptr %first.at
  %yfirst.at = getelementptr inbounds i8, ptr %group, i64 8
  %y.group.first = load i64, ptr %yfirst.at
  %memory.at = getelementptr inbounds i8, ptr %group, i64 96
  %memory = load ptr, ptr %memory.at
  %memory2 = getelementptr i8, ptr %memory, i64 1024
  br label %y.head
y.head:
  %y = phi i64 [ %y.begin, %start ], [ %y.after, %y.next ]
  %y.more = icmp ult i64 %y, %y.end
  br i1 %y.more, label %x.head, label %done
x.head:
  %x = phi i64 [ %x.begin, %y.head ], [ %x.after, %x.next ]
  %x.more = icmp ult i64 %x, %x.end
  br i1 %x.more, label %item, label %y.next
item:
  %lx = sub nuw nsw i64 %x, %x.group.first
  %ly = sub nuw nsw i64 %y, %y.group.first
  %arow = mul i64 %y, 512
  %l0 = mul i64 %ly, 16
  %l = add i64 %l0, %lx
  %amine = getelementptr inbounds float, ptr %memory, i64 %l
  %bmine = getelementptr inbounds float, ptr %memory2, i64 %l
  br label %tile
tile:
  %t = phi i64 [ 0, %item ], [ %t.next, %tile.end ]
  %sum = phi float [ 0.0, %item ], [ %sum.k, %tile.end ]
  %more = icmp ult i64 %t, 512
  br i1 %more, label %fill, label %out
fill:
  %ax0 = add i64 %arow, %t
  %ax = add i64 %ax0, %lx
  %ok = icmp ult i64 %ax, %alen
  br i1 %ok, label %fill2, label %bad
fill2:
  %ap = getelementptr inbounds float, ptr %a, i64 %ax
  %av = load float, ptr %ap
  store float %av, ptr %amine
  %by = add i64 %t, %ly
  %brow = mul i64 %by, 512
  %bx = add i64 %brow, %x
  %bp = getelementptr inbounds float, ptr %b, i64 %bx
  %bv = load float, ptr %bp
  store float %bv, ptr %bmine
  call void @schism.meet.__schism_barrier(ptr %group)
  br label %kloop
kloop:
  %k = phi i64 [ 0, %fill2 ], [ %k.next, %kloop ]
  %sum.k0 = phi float [ %sum, %fill2 ], [ %sum.k, %kloop ]
  %ai = add i64 %l0, %k
  %atp = getelementptr inbounds float, ptr %memory, i64 %ai
  %at = load float, ptr %atp
  %bi0 = mul i64 %k, 16
  %bi = add i64 %bi0, %lx
  %btp = getelementptr inbounds float, ptr %memory2, i64 %bi
  %bt = load float, ptr %btp
  %prod = fmul float %at, %bt
  %sum.k = fadd float %sum.k0, %prod
  %k.next = add nuw nsw i64 %k, 1
  %kdone = icmp eq i64 %k.next, 16
  br i1 %kdone, label %tile.end, label %kloop
tile.end:
  call void @schism.meet.__schism_barrier(ptr %group)
  %t.next = add i64 %t, 16
  br label %tile
out:
  %cx = add i64 %arow, %x
  %cp = getelementptr inbounds float, ptr %c, i64 %cx
  store float %sum, ptr %cp
  br label %x.next
x.next:
  %x.after = add nuw nsw i64 %x, 1
  br label %x.head, !llvm.loop !2
y.next:
  %y.after = add nuw nsw i64 %y, 1
  br label %y.head, !llvm.loop !4
bad:
  store i32 1, ptr %panic
  ret i32 1
done:
  ret i32 0
}
attributes #0 = { "schism-group-first"="0" "schism-group-local-memory"="96" "schism-group-size"="16,16,1" }
!4 = distinct !{!4, !1}
!schism.items = !{!0}
!0 = distinct !{}
!1 = !{!"llvm.loop.parallel_accesses", !0}
!2 = distinct !{!2, !1, !3}
!3 = !{!"schism.work_item_loop"}
