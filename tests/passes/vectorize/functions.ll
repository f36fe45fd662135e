; Intrinsics take vectors; a function of the library is called once for each lane that is on.
; SPEC lanes: 256 4
declare double @llvm.sqrt.f64(double)
declare double @exp(double) nounwind willreturn memory(none)
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr double, ptr %in, i64 %x
  %v = load double, ptr %p, align 8
  %r = call double @llvm.sqrt.f64(double %v)
  %is = fcmp ogt double %r, 2.0
  br i1 %is, label %then, label %join
then:
  %e = call double @exp(double %r)
  br label %join
join:
  %w = phi double [ %e, %then ], [ %r, %item ]
  %q = getelementptr double, ptr %out, i64 %x
  store double %w, ptr %q, align 8
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
; CHECK: call <4 x double> @llvm.sqrt.v4f64
; CHECK: select <4 x i1>
; CHECK: vector.lane:
; CHECK: %{{.*}} = call double @exp(double
; CHECK: insertelement <4 x double>
