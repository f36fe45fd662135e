; The innermost loop around a marker gets the hint, on all of its latches; the marker goes, also where there is no loop.
define void @count(ptr %p, i64 %n) {
start:
  br label %head
head:
  %k = phi i64 [ 0, %start ], [ %next, %body ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %mark = call i64 asm "/* schism: unroll 4 ${0:q} */", "=&r,0,~{memory}"(i64 0)
  store i64 %mark, ptr %p
  %next = add i64 %k, 1
  br label %head
done:
  ret void
}

define void @nested(i64 %n) {
start:
  br label %outer
outer:
  %row = phi i64 [ 0, %start ], [ %row.next, %outer.latch ]
  %a = call i64 asm "/* schism: unroll disable ${0:q} */", "=&r,0"(i64 0)
  br label %inner
inner:
  %k = phi i64 [ 0, %outer ], [ %next, %odd ], [ %next, %even ]
  %b = call i64 asm "/* schism: unroll full ${0:q} */", "=&r,0"(i64 0)
  %next = add i64 %k, 1
  %is.odd = trunc i64 %next to i1
  br i1 %is.odd, label %odd, label %even
odd:
  br label %inner
even:
  %last = icmp eq i64 %next, 8
  br i1 %last, label %outer.latch, label %inner
outer.latch:
  %row.next = add i64 %row, 1
  %done = icmp eq i64 %row.next, %n
  br i1 %done, label %end, label %outer
end:
  ret void
}

define void @after_a_loop(i64 %n) {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  %next = add i64 %k, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %end, label %loop
end:
  %b = call i64 asm "/* schism: unroll 8 ${0:q} */", "=&r,0"(i64 0)
  ret void
}

; Other assembly is not touched.
define void @other() {
  call void asm sideeffect "nop", ""()
  ret void
}
; CHECK-LABEL: define void @count(
; CHECK-NOT: asm
; CHECK: store i64 0, ptr %p
; CHECK-NEXT: %next = add i64 %k, 1
; CHECK-NEXT: br label %head, !llvm.loop !0
; CHECK-LABEL: define void @nested(
; CHECK-NOT: asm
; CHECK: br i1 %is.odd, label %odd, label %even
; CHECK: br label %inner, !llvm.loop !2
; CHECK: br i1 %last, label %outer.latch, label %inner, !llvm.loop !2
; CHECK: br i1 %done, label %end, label %outer, !llvm.loop !4
; CHECK-LABEL: define void @after_a_loop(
; CHECK-NOT: asm
; CHECK-NOT: !llvm.loop
; CHECK: ret void
; CHECK-LABEL: define void @other(
; CHECK: call void asm sideeffect "nop", ""()
; CHECK: !0 = distinct !{!0, !1}
; CHECK-NEXT: !1 = !{!"llvm.loop.unroll.count", i32 4}
; CHECK-NEXT: !2 = distinct !{!2, !3}
; CHECK-NEXT: !3 = !{!"llvm.loop.unroll.full"}
; CHECK-NEXT: !4 = distinct !{!4, !5}
; CHECK-NEXT: !5 = !{!"llvm.loop.unroll.disable"}
