; Elements one behind the other, the same for all lanes, three apart, at loaded indices; and stores.
; SPEC lanes: 512 16
define void @kernel(ptr %in, ptr %index, ptr %out, i64 %u, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr float, ptr %in, i64 %x
  %consecutive = load float, ptr %p, align 4
  %p.same = getelementptr float, ptr %in, i64 %u
  %same = load float, ptr %p.same, align 4
  %x3 = mul i64 %x, 3
  %p.apart = getelementptr i8, ptr %index, i64 %x3
  %apart = load i8, ptr %p.apart, align 1
  %at = zext i8 %apart to i64
  %p.any = getelementptr float, ptr %in, i64 %at
  %any = load float, ptr %p.any, align 4
  %a = fadd float %consecutive, %same
  %b = fmul float %a, %any
  %q = getelementptr float, ptr %out, i64 %x
  store float %b, ptr %q, align 4
  %q.any = getelementptr double, ptr %out, i64 %at
  store double 2.0, ptr %q.any, align 8
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
; CHECK: load <16 x float>
; CHECK: %same{{.*}} = load float
; CHECK: load <46 x i8>
; CHECK: shufflevector <46 x i8>
; CHECK: call <16 x float> @llvm.masked.gather.v16f32.v16p0
; CHECK: store <16 x float>
; CHECK: call void @llvm.masked.scatter.v16f64.v16p0
