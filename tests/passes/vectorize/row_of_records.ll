; A record's fields, which a loop reads through a table of their numbers: when the loop inside is
; straight code, they are loaded before the outer one, once, and nobody asks whether they lie
; one behind the other. Two registers for each vector: sums wait for each other.
; SPEC lanes: 256
define void @kernel(ptr noalias readonly %in, ptr noalias readonly %all, ptr noalias %out, i64 %n, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %record = getelementptr inbounds [7 x float], ptr %in, i64 %x
  br label %outer
outer:
  %k = phi i64 [ 0, %item ], [ %k.next, %latch ]
  %sum = phi float [ 0.0, %item ], [ %sum.last, %latch ]
  %other = getelementptr inbounds [7 x float], ptr %all, i64 %k
  br label %fields
fields:
  %f = phi i64 [ 0, %outer ], [ %f.next, %fields ]
  %s = phi float [ %sum, %outer ], [ %s.next, %fields ]
  %own.at = getelementptr inbounds float, ptr %record, i64 %f
  %own = load float, ptr %own.at, align 4
  %other.at = getelementptr inbounds float, ptr %other, i64 %f
  %theirs = load float, ptr %other.at, align 4
  %product = fmul float %own, %theirs
  %s.next = fadd float %s, %product
  %f.next = add nuw nsw i64 %f, 1
  %f.done = icmp eq i64 %f.next, 3
  br i1 %f.done, label %latch, label %fields
latch:
  %sum.last = phi float [ %s.next, %fields ]
  %k.next = add nuw nsw i64 %k, 1
  %k.done = icmp eq i64 %k.next, %n
  br i1 %k.done, label %next, label %outer
next:
  %q = getelementptr float, ptr %out, i64 %x
  store float %sum.last, ptr %q, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK-NOT: vector.near
; CHECK: masked.gather
; CHECK: masked.gather
; CHECK: masked.gather
; CHECK: vector.inner:
; CHECK-NOT: masked.gather
; CHECK: fadd <16 x float>
; CHECK: store <16 x float>
; CHECK: kernel: vectorised: 16 lanes
