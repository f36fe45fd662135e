; SPEC target: nvptx64-nvidia-cuda
; Divisions of integers of 128 bits.
define i128 @divide(i128 %x, i128 %y) {
  %a = udiv i128 %x, %y
  %b = urem i128 %x, %y
  %c = sdiv i128 %a, %b
  %d = srem i128 %c, 10
  ret i128 %d
}
; Those by powers of two, and shorter ones, stay.
define i128 @shift(i128 %x, i64 %y) {
  %a = sdiv i128 %x, 36893488147419103232
  %b = urem i128 %a, 16
  %c = udiv i64 %y, 10
  %d = zext i64 %c to i128
  %e = add i128 %b, %d
  ret i128 %e
}
; CHECK: define i128 @divide
; CHECK-NEXT: %1 = call i128 @schism.lib.__udivti3(i128 %x, i128 %y)
; CHECK-NEXT: %2 = call i128 @schism.lib.__udivti3(i128 %x, i128 %y)
; CHECK-NEXT: %3 = mul i128 %2, %y
; CHECK-NEXT: %4 = sub i128 %x, %3
; CHECK-NEXT: %5 = call i128 @schism.lib.__divti3(i128 %1, i128 %4)
; CHECK-NEXT: %6 = call i128 @schism.lib.__divti3(i128 %5, i128 10)
; CHECK-NEXT: %7 = mul i128 %6, 10
; CHECK-NEXT: %8 = sub i128 %5, %7
; CHECK-NEXT: ret i128 %8
; CHECK: define i128 @shift
; CHECK-NEXT: %a = sdiv i128 %x, 36893488147419103232
; CHECK-NEXT: %b = urem i128 %a, 16
; CHECK-NEXT: %c = udiv i64 %y, 10
