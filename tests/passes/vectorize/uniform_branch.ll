; A branch that all work-items take together stays a branch: nothing behind it is masked, and what its sides
; bring together is chosen by one condition.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i32 %u, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr float, ptr %in, i64 %x
  %is = icmp sgt i32 %u, 5
  br i1 %is, label %then, label %join
then:
  %v = load float, ptr %p, align 4
  br label %join
join:
  %w = phi float [ %v, %then ], [ 1.0, %item ]
  %q = getelementptr float, ptr %out, i64 %x
  store float %w, ptr %q, align 4
  br label %next
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: br i1 %is, label %vector.some, label %vector.skip
; CHECK: vector.some:
; CHECK: load <8 x float>
; CHECK-NOT: select
; CHECK: vector.skip:
; CHECK: phi <8 x float> [ {{.*}}, %vector.some ], [ splat (float 1.000000e+00), %vector.loop ]
; CHECK-NOT: masked
; CHECK: store <8 x float>
