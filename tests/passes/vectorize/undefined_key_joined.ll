; What an edge that brings `undef` leaves is any value, not `poison`, which what is loaded is in lanes that are off.
; SPEC lanes: 512 8
define void @kernel(ptr %in, ptr %index, ptr %out, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %p = getelementptr i32, ptr %index, i64 %x
  %place = load i32, ptr %p, align 4
  %is.there = icmp sgt i32 %place, -1
  br i1 %is.there, label %found, label %next
found:
  %wide = zext i32 %place to i64
  %q = getelementptr i64, ptr %in, i64 %wide
  %value = load i64, ptr %q, align 8
  br label %next
next:
  %payload = phi i64 [ %value, %found ], [ undef, %item ]
  %is.low = icmp ult i64 %payload, 100
  %is.none = xor i1 %is.there, true
  %either = or i1 %is.none, %is.low
  %number = zext i1 %either to i8
  %at = getelementptr i8, ptr %out, i64 %x
  store i8 %number, ptr %at, align 1
  %rest = getelementptr i64, ptr %in, i64 %x
  store i64 %payload, ptr %rest, align 8
  %x.after = add i64 %x, 1
  %x.more = icmp ult i64 %x.after, %end
  br i1 %x.more, label %item, label %exit, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: vector.loop:
; CHECK: phi <8 x i64> [ %{{.*}}, %vector.some ], [ poison, %vector.loop ]
; CHECK: freeze <8 x i64>
