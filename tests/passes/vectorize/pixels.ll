; Elements of three bytes: all bytes of a vector lie one behind the other.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr [3 x i8], ptr %in, i64 %x
  %v = load i24, ptr %p, align 1
  %w = xor i24 %v, 8388607
  %q = getelementptr [3 x i8], ptr %out, i64 %x
  store i24 %w, ptr %q, align 1
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: load <24 x i8>
; CHECK: shufflevector <24 x i8>
; CHECK: bitcast <32 x i8> {{.*}} to <8 x i32>
; CHECK: trunc <8 x i32> {{.*}} to <8 x i24>
; CHECK: xor <8 x i24>
; CHECK: zext <8 x i24> {{.*}} to <8 x i32>
; CHECK: shufflevector <32 x i8>
; CHECK: store <24 x i8>
