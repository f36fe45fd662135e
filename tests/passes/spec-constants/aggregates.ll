; SPEC constant-value: POINT 000080bf02000000
; SPEC constant-value: TABLE 01000200030004000500
; Fields of structs and elements of arrays; an index that is not known reads the array.
@POINT = externally_initialized constant [8 x i8] zeroinitializer, align 4
@TABLE = externally_initialized constant [10 x i8] zeroinitializer, align 2
define i32 @field() {
  %y = load i32, ptr getelementptr inbounds (i8, ptr @POINT, i64 4)
  ret i32 %y
}
define float @other_field() {
  %x = load float, ptr @POINT
  ret float %x
}
define i16 @element() {
  %at = getelementptr inbounds i16, ptr @TABLE, i64 3
  %e = load i16, ptr %at
  ret i16 %e
}
define i16 @any_element(i64 %i) {
  %at = getelementptr inbounds i16, ptr @TABLE, i64 %i
  %e = load i16, ptr %at
  ret i16 %e
}
; CHECK: @TABLE = internal constant [10 x i8] c"\01\00\02\00\03\00\04\00\05\00", align 2
; CHECK: ret i32 2
; CHECK: ret float -1.000000e+00
; CHECK: ret i16 4
; CHECK: %e = load i16, ptr %at
; CHECK: ret i16 %e
