; Each work-item goes along its own row from one address to another. The addresses differ between lanes, and what is left of the row does
; not: all lanes leave the loop together. The row is short, so its elements are gathered.
; SPEC lanes: 512
define void @kernel(ptr noalias readonly %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %row = getelementptr [64 x float], ptr %in, i64 %x
  %row.end = getelementptr i8, ptr %row, i64 256
  br label %row.head
row.head:
  %p = phi ptr [ %row, %item ], [ %p.next, %row.head ]
  %sum = phi float [ 0.0, %item ], [ %sum.next, %row.head ]
  %value = load float, ptr %p, align 4
  %sum.next = fadd float %sum, %value
  %p.next = getelementptr i8, ptr %p, i64 4
  %is.end = icmp eq ptr %p.next, %row.end
  br i1 %is.end, label %done, label %row.head
done:
  %q = getelementptr float, ptr %out, i64 %x
  store float %sum.next, ptr %q, align 4
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: kernel: vectorised: 32 lanes
; CHECK: of which lanes leave 0 one by one
