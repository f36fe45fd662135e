; Elements of pieces, all by one loop: the state of the iterator of a piece is known at the beginning, and where a piece
; begins. Afterwards an inner loop goes over the elements of a piece.
define float @kernel(ptr nonnull %from, ptr %end, ptr %weights, ptr %weights.end) {
start:
  br label %zip
zip:
  %pieces = phi ptr [ %from, %start ], [ %pieces.at, %element ]
  %piece = phi ptr [ null, %start ], [ %piece.now, %element ]
  %left = phi i64 [ 0, %start ], [ %left.next, %element ]
  %weight = phi ptr [ %weights, %start ], [ %weight.next, %element ]
  %sum = phi float [ 0.0, %start ], [ %sum.next, %element ]
  br label %next
next:
  %pieces.at = phi ptr [ %pieces, %zip ], [ %pieces.after, %begins ]
  %piece.at = phi ptr [ %piece, %zip ], [ %pieces.at, %begins ]
  %left.at = phi i64 [ %left, %zip ], [ 3, %begins ]
  %none = icmp eq ptr %piece.at, null
  %empty = icmp eq i64 %left.at, 0
  %exhausted = select i1 %none, i1 true, i1 %empty
  br i1 %exhausted, label %pieces.next, label %zip.next
pieces.next:
  %is.there = icmp ne ptr %pieces.at, null
  %is.before = icmp ne ptr %pieces.at, %end
  %more = select i1 %is.there, i1 %is.before, i1 false
  br i1 %more, label %begins, label %done
begins:
  %pieces.after = getelementptr inbounds i8, ptr %pieces.at, i64 32
  br label %next
zip.next:
  %left.next = add i64 %left.at, -1
  %is.last = icmp eq ptr %weight, %weights.end
  br i1 %is.last, label %done, label %element
element:
  %piece.now = getelementptr inbounds i8, ptr %piece.at, i64 4
  %weight.next = getelementptr inbounds i8, ptr %weight, i64 4
  %a = load float, ptr %piece.at, align 4
  %b = load float, ptr %weight, align 4
  %product = fmul float %a, %b
  %sum.next = fadd float %sum, %product
  br label %zip
done:
  ret float %sum
}
; CHECK: start:
; CHECK: br label %pieces.next
; CHECK: pieces.next:
; CHECK: br i1 {{.*}}, label %begins, label %done
; CHECK: begins:
; CHECK: br label %zip.next
; CHECK: zip.next:
; CHECK: phi i64 [ 3, %begins ], [ %left.next, %element ]
; CHECK: element:
; CHECK: %empty = icmp eq i64 %left.next, 0
; CHECK: br i1 %empty, label %pieces.next, label %zip.next
