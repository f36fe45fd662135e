; The functions were inlined: their static says that the processor was asked, and has nothing.
@_ZN10std_detect6detect5cache5CACHE17h0123456789abcdefE = internal global <{ [16 x i8] }> zeroinitializer, align 8
@_ZN6others6detect5cache5CACHE17h0123456789abcdefE = internal global i64 0, align 8
define i64 @kernel() {
  %a = load atomic i64, ptr getelementptr inbounds (i8, ptr @_ZN10std_detect6detect5cache5CACHE17h0123456789abcdefE, i64 8) monotonic, align 8
  %b = load atomic i64, ptr @_ZN6others6detect5cache5CACHE17h0123456789abcdefE monotonic, align 8
  %c = add i64 %a, %b
  ret i64 %c
}
; CHECK-NOT: 10std_detect
; CHECK: @_ZN6others6detect5cache5CACHE17h0123456789abcdefE = internal global i64 0
; CHECK: internal constant [16 x i8] c"\00\00\00\00\00\00\00\80\00\00\00\00\00\00\00\80", align 8
