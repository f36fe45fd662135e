; Of a loop with an operation that becomes many instructions no iteration is put before it; the loop may have a small one inside.
declare void @panic() cold noreturn nounwind

define void @panics(ptr %at, float %c, i32 %len, i32 %n) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %go ]
  %in = icmp ult i32 %k, %len
  br i1 %in, label %go, label %panic
go:
  %x = load float, ptr %at
  %y = fdiv float %x, %c
  store float %y, ptr %at
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
panic:
  call void @panic()
  unreachable
}

define void @around(ptr %at, float %c, i32 %n) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %end ]
  %x = load float, ptr %at
  %y = fdiv float %x, %c
  br label %inner
inner:
  %j = phi i32 [ 0, %loop ], [ %following, %inner ]
  %place = getelementptr float, ptr %at, i32 %j
  store float %y, ptr %place
  %following = add i32 %j, 1
  %again = icmp ult i32 %following, 3
  br i1 %again, label %inner, label %end
end:
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK: define void @panics
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !0
; CHECK: define void @around
; CHECK: br i1 %again, label %inner, label %end
; CHECK-NOT: !llvm.loop
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !2
; CHECK: !1 = !{!"llvm.loop.peeled.count", i32 7}
; CHECK: !2 = distinct !{!2, !1}
