; Steps wrap around in numbers of few bits.
; SPEC lanes: 256 8
define void @kernel(ptr %out, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %head.next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %head.next, label %exit
head.next:
  %far = mul i64 %x, 100
  %byte = trunc i64 %far to i8
  %q = getelementptr i8, ptr %out, i64 %x
  store i8 %byte, ptr %q, align 1
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: add <8 x i8> {{.*}}, <i8 0, i8 100, i8 -56, i8 44, i8 -112, i8 -12, i8 88, i8 -68>
