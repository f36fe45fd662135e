; Whether the processor has a feature, asked by either function, in either mangling: it has not.
define i32 @kernel() {
  %any = call zeroext i1 @_ZN10std_detect6detect9check_for17h0123456789abcdefE(i8 28)
  br i1 %any, label %vectors, label %next
next:
  %f16c = call i1 @_RNvNtNtNtNtCs1_10std_detect6detect4arch3x8621__is_feature_detected4f16c()
  br i1 %f16c, label %vectors, label %third
third:
  %test = call i1 @_RNvNtNtCs1_10std_detect6detect5cache4test(i32 14)
  br i1 %test, label %vectors, label %fourth
fourth:
  %all = call i128 @_RNvNtNtCs1_10std_detect6detect5cache21detect_and_initialize()
  %bit = and i128 %all, 4
  %none = icmp eq i128 %bit, 0
  br i1 %none, label %plain, label %vectors
vectors:
  %r = call i32 @vectors()
  ret i32 %r
plain:
  ret i32 7
}
declare i1 @_ZN10std_detect6detect9check_for17h0123456789abcdefE(i8)
declare i1 @_RNvNtNtNtNtCs1_10std_detect6detect4arch3x8621__is_feature_detected4f16c()
declare i1 @_RNvNtNtCs1_10std_detect6detect5cache4test(i32)
declare i128 @_RNvNtNtCs1_10std_detect6detect5cache21detect_and_initialize()
declare i32 @vectors()
; CHECK-LABEL: define i32 @kernel()
; CHECK-NOT: br
; CHECK-NOT: call
; CHECK: ret i32 7
