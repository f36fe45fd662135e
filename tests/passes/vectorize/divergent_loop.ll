; Each work-item has its own number of iterations: the loop runs while any lane is left.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr float, ptr %in, i64 %x
  %v = load float, ptr %p, align 4
  br label %inner
inner:
  %a = phi float [ %v, %item ], [ %b, %inner ]
  %n = phi i64 [ 0, %item ], [ %m, %inner ]
  %b = fmul float %a, %a
  %m = add i64 %n, 1
  %more = fcmp olt float %b, 4.0
  br i1 %more, label %inner, label %next
next:
  %q = getelementptr i64, ptr %out, i64 %x
  store i64 %n, ptr %q, align 8
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: define void @kernel
