; What skipped code updates, in one step or two, is selected there: where no lane is on, the old values stay without a select.
; SPEC lanes: 512 16
define void @kernel(ptr noalias readonly %in, ptr noalias readonly %spheres, ptr noalias %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %after ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr float, ptr %in, i64 %x
  %v = load float, ptr %p, align 4
  br label %sphere
sphere:
  %k = phi i64 [ 0, %item ], [ %k.next, %next ]
  %nearest = phi float [ 1.0e+9, %item ], [ %nearest.next, %next ]
  %hit = phi float [ 0.0, %item ], [ %hit.next, %next ]
  %s = getelementptr float, ptr %spheres, i64 %k
  %c = load float, ptr %s, align 4
  %along = fmul float %c, %v
  %inside = fsub float %along, 3.0
  %is = fcmp ogt float %inside, 0.0
  br i1 %is, label %root, label %next
root:
  %r = call float @llvm.sqrt.f32(float %inside)
  %t = fsub float %along, %r
  %is.nearer = fcmp olt float %t, %nearest
  br i1 %is.nearer, label %nearer, label %next
nearer:
  br label %next
next:
  %nearest.next = phi float [ %nearest, %sphere ], [ %nearest, %root ], [ %t, %nearer ]
  %hit.next = phi float [ %hit, %sphere ], [ %hit, %root ], [ %c, %nearer ]
  %k.next = add nuw i64 %k, 1
  %done = icmp eq i64 %k.next, 32
  br i1 %done, label %after, label %sphere
after:
  %w = fadd float %nearest.next, %hit.next
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
; CHECK: vector.inner:
; CHECK-NOT: select <16 x i1> {{.*}}, <16 x float>
; CHECK: vector.some:
; CHECK: call <16 x float> @llvm.sqrt.v16f32
; CHECK: select <16 x i1> {{.*}}, <16 x float>
; CHECK: select <16 x i1> {{.*}}, <16 x float>
; CHECK: vector.skip:
; CHECK: phi <16 x float>
; CHECK: phi <16 x float>
; CHECK-NOT: select <16 x i1> {{.*}}, <16 x float>
; CHECK: vector.after:
