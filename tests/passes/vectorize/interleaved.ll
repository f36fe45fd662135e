; Each iteration waits for the one before it, and carries one value: two registers for each vector.
; SPEC lanes: 256
define void @kernel(ptr noalias readonly %in, ptr noalias %out, i64 %begin, i64 %end) {
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
  %a = phi float [ %v, %item ], [ %c, %inner ]
  %b = fmul float %a, %a
  %c = fadd float %b, %v
  %more = fcmp olt float %c, 4.0
  br i1 %more, label %inner, label %next
next:
  %q = getelementptr float, ptr %out, i64 %x
  store float %c, ptr %q, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: fmul <16 x float>
; CHECK: kernel: vectorised: 16 lanes
