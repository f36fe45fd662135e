; SPEC spec-constant: POINT 32 4 000000000000f03f
; SPEC kernel: kernel entry 0 1
; Fields are reached by constant expressions, also where control flow joins.
@POINT = externally_initialized constant [32 x i8] zeroinitializer, align 4
define void @kernel(ptr %out, i1 %c, i32 %n) {
start:
  %y = load i32, ptr getelementptr inbounds (i8, ptr @POINT, i64 4)
  store i32 %y, ptr %out
  switch i32 %n, label %end [ i32 1, label %join
                              i32 2, label %join ]
end:
  br label %join
join:
  %at = phi ptr [ getelementptr inbounds (i8, ptr @POINT, i64 4), %start ], [ getelementptr inbounds (i8, ptr @POINT, i64 4), %start ], [ @POINT, %end ]
  %z = load i32, ptr %at
  store i32 %z, ptr %out
  %number = add i64 ptrtoint (ptr getelementptr (i8, ptr @POINT, i64 8) to i64), 1
  store i64 %number, ptr %out
  ret void
}
; CHECK: define void @kernel(ptr %out, i1 %c, i32 %n, ptr noalias nonnull readonly align 4 dereferenceable(8) %constants) {
; CHECK-NEXT: start:
; CHECK-NEXT: %POINT = getelementptr inbounds i8, ptr %constants, i64 0
; CHECK-NEXT: %0 = getelementptr inbounds i8, ptr %POINT, i64 4
; CHECK-NEXT: %y = load i32, ptr %0
; CHECK-NEXT: store
; CHECK-NEXT: %1 = getelementptr inbounds i8, ptr %POINT, i64 4
; CHECK-NEXT: switch
; CHECK: %at = phi ptr [ %1, %start ], [ %1, %start ], [ %POINT, %end ]
; CHECK: %2 = getelementptr i8, ptr %POINT, i64 8
; CHECK-NEXT: %3 = ptrtoint ptr %2 to i64
; CHECK-NEXT: %number = add i64 %3, 1
