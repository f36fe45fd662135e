; A counter that begins before the number that it is compared with does not wrap, whatever became of its
; flags. Frozen numbers still lie side by side.
; SPEC lanes: 256 8
define void @kernel(ptr noalias %from, ptr noalias %to, i64 %first) {
start:
  br label %item
item:
  %x = phi i64 [ 0, %start ], [ %x.after, %item ]
  %place = add i64 %first, %x
  %frozen = freeze i64 %place
  %p = getelementptr float, ptr %from, i64 %frozen
  %v = load float, ptr %p, align 4
  %q = getelementptr float, ptr %to, i64 %x
  store float %v, ptr %q, align 4
  %x.after = add i64 %x, 1
  %more = icmp samesign ult i64 %x, 31
  br i1 %more, label %item, label %exit, !llvm.loop !0
exit:
  ret void
}
; A counter that begins behind the last number may wrap.
define void @behind(ptr noalias %to, i64 %begin) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  %q = getelementptr float, ptr %to, i64 %x
  store float 0.0, ptr %q, align 4
  %x.after = add i64 %x, 1
  %more = icmp ult i64 %x, 31
  br i1 %more, label %item, label %exit, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: load <8 x float>
; CHECK: store <8 x float>
; CHECK: kernel: vectorised: 8 lanes
; CHECK: behind: not vectorised: the loop does not end at a number of work-items
