; Other instructions, and a root of an integer register.
define i64 @f(float %x, i64 %z) {
  %a = call float asm inteldialect "rsqrtss $0, $0", "=&x,0"(float %x)
  %b = call i64 asm "sqrtsd $0, $0", "=&r,0"(i64 %z)
  ret i64 %b
}

; BLESS: the output, line by line
; CHECK: define i64 @f(float %x, i64 %z) {
; CHECK-NEXT: %a = call float asm inteldialect "rsqrtss $0, $0", "=&x,0"(float %x)
; CHECK-NEXT: %b = call i64 asm "sqrtsd $0, $0", "=&r,0"(i64 %z)
; CHECK-NEXT: ret i64 %b
; CHECK-NEXT: }
; CHECK-NEXT: end of violations
