; A local that is copied as a whole into another one, whose parts are loaded: neither carries a value from one iteration to the next.
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define double @kernel(i1 %hits, double %distance, i64 %n) {
start:
  %new = alloca [16 x i8], align 8
  %best = alloca [24 x i8], align 8
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i.next, %after ]
  %sum = phi double [ 0.0, %start ], [ %sum.next, %after ]
  call void @llvm.lifetime.start.p0(ptr %best)
  br i1 %hits, label %hit, label %after
hit:
  call void @llvm.lifetime.start.p0(ptr %new)
  store double %distance, ptr %new, align 8
  %new.1 = getelementptr i8, ptr %new, i64 8
  store double 2.0, ptr %new.1, align 8
  %best.1 = getelementptr i8, ptr %best, i64 8
  call void @llvm.memcpy.p0.p0.i64(ptr %best.1, ptr %new, i64 16, i1 false)
  br label %after
after:
  %best.2 = getelementptr i8, ptr %best, i64 16
  %second = load double, ptr %best.2, align 8
  %taken = select i1 %hits, double %second, double 1.0
  %sum.next = fadd double %sum, %taken
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret double %sum.next
}
; CHECK: loop:
; CHECK: phi i64
; CHECK: phi double [ 0.000000e+00, %start ], [ %sum.next, %after ]
; CHECK-NOT: phi double [ undef, %start ]
; CHECK-NOT: call void @llvm.memset
; CHECK-NOT: alloca
