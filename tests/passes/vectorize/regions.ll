; Two loops over work-items, one after the other, as a kernel that was cut at a barrier has.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %end) {
start:
  br label %one
one:
  %x = phi i64 [ 0, %start ], [ %x.after, %one.next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %one.next, label %two
one.next:
  %p = getelementptr float, ptr %in, i64 %x
  %v = load float, ptr %p, align 4
  %w = fadd float %v, 1.0
  store float %w, ptr %p, align 4
  %x.after = add i64 %x, 1
  br label %one, !llvm.loop !0
two:
  %y = phi i64 [ 0, %one ], [ %y.after, %two.next ]
  %y.more = icmp ult i64 %y, %end
  br i1 %y.more, label %two.next, label %exit
two.next:
  %y2 = mul i64 %y, 2
  %q = getelementptr float, ptr %in, i64 %y2
  %a = load float, ptr %q, align 4
  %r = getelementptr float, ptr %out, i64 %y
  store float %a, ptr %r, align 4
  %y.after = add i64 %y, 1
  br label %two, !llvm.loop !1
exit:
  ret void
}
!0 = distinct !{!0, !2}
!1 = distinct !{!1, !2}
!2 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: fadd <8 x float>
; CHECK: vector.loop{{.*}}:
; CHECK: load <15 x float>
; CHECK: kernel: vectorised: 8 lanes
; CHECK: kernel: vectorised: 8 lanes
