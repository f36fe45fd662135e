; A loop counted to a constant gets a hint by its size; one that may panic, calls something or is not counted so gets none.
declare void @panic() cold noreturn nounwind
declare void @other()

define float @counted(float %c) {
begin:
  br label %turn
turn:
  %k = phi i32 [ 0, %begin ], [ %next, %turn ]
  %x = phi float [ 0.0, %begin ], [ %z, %turn ]
  %y = fmul float %x, %x
  %z = fadd float %y, %c
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %turn, label %done
done:
  ret float %z
}

define void @panics(i32 %len) {
begin:
  br label %turn
turn:
  %k = phi i32 [ 0, %begin ], [ %next, %go ]
  %in = icmp ult i32 %k, %len
  br i1 %in, label %go, label %panic
go:
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %turn, label %done
done:
  ret void
panic:
  call void @panic()
  unreachable
}

define void @calls() {
begin:
  br label %turn
turn:
  %k = phi i32 [ 0, %begin ], [ %next, %turn ]
  call void @other()
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %turn, label %done
done:
  ret void
}

define void @to_a_variable(i32 %n) {
begin:
  br label %turn
turn:
  %k = phi i32 [ 0, %begin ], [ %next, %turn ]
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %turn, label %done
done:
  ret void
}

define void @to_little() {
begin:
  br label %turn
turn:
  %k = phi i32 [ 0, %begin ], [ %next, %turn ]
  %next = add i32 %k, 1
  %more = icmp ne i32 %next, 32
  br i1 %more, label %turn, label %done
done:
  ret void
}
; CHECK: define float @counted
; CHECK: br i1 %more, label %turn, label %done, !llvm.loop !0
; CHECK: define void @panics
; CHECK-NOT: !llvm.loop
; CHECK: !0 = distinct !{!0, !1}
; CHECK-NEXT: !1 = !{!"llvm.loop.unroll.count", i32 16}
