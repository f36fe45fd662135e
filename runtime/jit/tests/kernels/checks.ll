; Kernels with checked indices. The message of a panic is in `header.ll`'s form.

@text = private unnamed_addr constant [19 x i8] c"index out of bounds", align 1

; A column of a product: out[x] = the sum over k of a[k] * b[k * n + x].
define void @product(ptr %out, ptr noalias readonly %a, i64 %a.len, ptr noalias readonly %b, i64 %b.len, i64 %n) {
start:
  %x = call i64 @__schism_global_id_x()
  br label %iteration
iteration:
  %k = phi i64 [ 0, %start ], [ %k.next, %both ]
  %sum = phi float [ 0.0, %start ], [ %sum.next, %both ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %a.inside = icmp ult i64 %k, %a.len
  br i1 %a.inside, label %one, label %bad
one:
  %a.at = getelementptr inbounds float, ptr %a, i64 %k
  %a.value = load float, ptr %a.at, align 4
  %row = mul i64 %k, %n
  %at = add i64 %row, %x
  %b.inside = icmp ult i64 %at, %b.len
  br i1 %b.inside, label %both, label %bad
both:
  %b.at = getelementptr inbounds float, ptr %b, i64 %at
  %b.value = load float, ptr %b.at, align 4
  %product = fmul float %a.value, %b.value
  %sum.next = fadd float %sum, %product
  %k.next = add i64 %k, 1
  br label %iteration
bad:
  call void @__schism_panic(ptr @text, i64 19, ptr null)
  unreachable
done:
  %to = getelementptr inbounds float, ptr %out, i64 %x
  store float %sum, ptr %to, align 4
  ret void
}

; Neighbours: out[x] = from[x - 1] + from[x + 1], each of which is asked for.
define void @neighbours(ptr %out, ptr noalias readonly %from, i64 %len) {
start:
  %x = call i64 @__schism_global_id_x()
  %left = sub i64 %x, 1
  %left.inside = icmp ult i64 %left, %len
  br i1 %left.inside, label %one, label %bad.left
one:
  %left.at = getelementptr inbounds float, ptr %from, i64 %left
  %left.value = load volatile float, ptr %left.at, align 4
  %right = add i64 %x, 1
  %right.inside = icmp ult i64 %right, %len
  br i1 %right.inside, label %both, label %bad.right
both:
  %right.at = getelementptr inbounds float, ptr %from, i64 %right
  %right.value = load volatile float, ptr %right.at, align 4
  %sum = fadd float %left.value, %right.value
  %to = getelementptr inbounds float, ptr %out, i64 %x
  store float %sum, ptr %to, align 4
  ret void
bad.left:
  call void @__schism_panic(ptr @text, i64 5, ptr null)
  unreachable
bad.right:
  call void @__schism_panic(ptr @text, i64 19, ptr null)
  unreachable
}
