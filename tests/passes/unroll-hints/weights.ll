; What becomes many instructions of a GPU counts as many: exact divisions and roots, integers divided by what is no constant, atomic
; accesses, and a little arithmetic of 64 bits. What may be inexact counts as one.
declare float @llvm.sqrt.f32(float)

define float @exact(float %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %y = call float @llvm.sqrt.f32(float %x)
  %z = fdiv float %c, %y
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret float %z
}

define float @relaxed(float %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi float [ 0.0, %begin ], [ %z, %loop ]
  %y = call afn float @llvm.sqrt.f32(float %x)
  %z = fdiv afn float %c, %y
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret float %z
}

define double @of_double(double %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi double [ 0.0, %begin ], [ %z, %loop ]
  %y = fdiv double %x, %c
  %z = fadd double %y, %c
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret double %z
}

define i64 @by_a_variable(i64 %c) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %x = phi i64 [ 0, %begin ], [ %z, %loop ]
  %y = udiv i64 %x, %c
  %z = add i64 %y, %c
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret i64 %z
}

define void @counts(ptr %at) {
begin:
  br label %loop
loop:
  %k = phi i32 [ 0, %begin ], [ %next, %loop ]
  %old = atomicrmw add ptr %at, i32 %k monotonic
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, 512
  br i1 %more, label %loop, label %done
done:
  ret void
}
; CHECK: define float @exact
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !0
; CHECK: define float @relaxed
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !2
; CHECK: define double @of_double
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !4
; CHECK: define i64 @by_a_variable
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !5
; CHECK: define void @counts
; CHECK: br i1 %more, label %loop, label %done, !llvm.loop !7
; CHECK: !1 = !{!"llvm.loop.unroll.count", i32 4}
; CHECK: !3 = !{!"llvm.loop.unroll.count", i32 16}
; CHECK: !4 = distinct !{!4, !1}
; CHECK: !6 = !{!"llvm.loop.unroll.count", i32 2}
; CHECK: !8 = !{!"llvm.loop.unroll.count", i32 8}
