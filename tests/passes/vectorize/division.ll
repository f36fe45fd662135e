; Lanes that are off divide by one. Quotients of 32 bits are computed with floating-point numbers.
; SPEC lanes: 256 8
define void @kernel(ptr %in, ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i32, ptr %in, i64 %x
  %v = load i32, ptr %p, align 4
  %is = icmp ne i32 %v, 0
  br i1 %is, label %then, label %join
then:
  %d = udiv i32 1000, %v
  br label %join
join:
  %w = phi i32 [ %d, %then ], [ 0, %item ]
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %w, ptr %q, align 4
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
; CHECK: vector.some:
; CHECK: select <8 x i1> {{.*}}, <8 x i32> {{.*}}, <8 x i32> splat (i32 1)
; CHECK: fdiv <8 x double>
; CHECK: fptoui <8 x double> {{.*}} to <8 x i32>
