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
; CHECK: vector.loop:
; CHECK: vector.inner:
; CHECK: %n{{.*}} = phi i64 [ 0, %vector.loop ]
; CHECK: %vector.live = phi <8 x i1> [ splat (i1 true), %vector.loop ]
; CHECK: phi <8 x i64> [ poison, %vector.loop ]
; CHECK: fmul <8 x float>
; CHECK: fcmp olt <8 x float>
; CHECK: select <8 x i1> %vector.live
; CHECK: select <8 x i1> {{.*}}, <8 x i64>
; CHECK: bitcast <8 x i1> {{.*}} to i8
; CHECK-NEXT: icmp ne i8
; CHECK-NEXT: br i1 {{.*}}, label %vector.inner, label %vector.after
; CHECK: store <8 x i64>
; CHECK: br i1 {{.*}}, label %vector.end, label %vector.loop, !llvm.loop
; CHECK: kernel: vectorised: 8 lanes
