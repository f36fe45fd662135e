; Skipped code that updates a value to a constant updates it only where it runs.
; SPEC lanes: 256 8
define void @kernel(ptr noalias readonly %in, ptr noalias %out, i32 %n, i64 %begin, i64 %end) {
start:
  %is = icmp sgt i32 %n, 4
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %join ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr float, ptr %in, i64 %x
  %v = load float, ptr %p, align 4
  br i1 %is, label %then, label %join
then:
  %r = call float @llvm.sqrt.f32(float %v)
  %s = getelementptr float, ptr %out, i64 %x
  store float %r, ptr %s, align 4
  br label %join
join:
  %w = phi float [ 3.0, %then ], [ %v, %item ]
  %x.big = add i64 %x, 100000
  %q = getelementptr float, ptr %out, i64 %x.big
  store float %w, ptr %q, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
declare float @llvm.sqrt.f32(float)
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.some:
; CHECK: vector.skip:
; CHECK: phi <8 x float> [ splat (float 3.000000e+00), %vector.some ], [ {{.*}}, %vector.loop ]
