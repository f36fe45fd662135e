; A root, or a quotient, costs as much as many other instructions: it is skipped where no lane needs it.
; SPEC lanes: 256 8
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
  %is = fcmp ogt float %v, 0.0
  br i1 %is, label %root, label %next
root:
  %r = call float @llvm.sqrt.f32(float %v)
  %d = fdiv float 2.0, %r
  %m = fmul float %d, %v
  %n = fadd float %m, %r
  %l = fmul float %n, %d
  %s = fsub float 1.0, %l
  br label %next
next:
  %w = phi float [ %v, %item ], [ %s, %root ]
  %q = getelementptr float, ptr %out, i64 %x
  store float %w, ptr %q, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
declare float @llvm.sqrt.f32(float)
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: br i1 {{.*}}, label %vector.some, label %vector.skip
; CHECK: vector.some:
; CHECK: call <8 x float> @llvm.sqrt
; CHECK: select <8 x i1>
; CHECK: vector.skip:
; CHECK: phi <8 x float>
; CHECK: store <8 x float>
