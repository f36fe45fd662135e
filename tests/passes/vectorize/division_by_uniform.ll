; Numbers of 32 bits that are divided by one number are multiplied with its reciprocal, which is made a bit too large.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i32 %by, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %d = udiv i32 %v, %by
  %r = srem i32 %v, %by
  %w = xor i32 %d, %r
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %w, ptr %q, align 4
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: uitofp i32 %by to double
; CHECK: fdiv double 1.000000e+00, {{.*}}
; CHECK: fmul double {{.*}}, 0x3FF0000000000001
; CHECK: uitofp <8 x i32> {{.*}} to <8 x double>
; CHECK: fmul <8 x double>
; CHECK: fptoui <8 x double> {{.*}} to <8 x i32>
; CHECK: sitofp i32 %by to double
; CHECK: fptosi <8 x double> {{.*}} to <8 x i32>
; CHECK-NOT: fdiv <8 x double>
; CHECK: kernel: vectorised: 8 lanes
