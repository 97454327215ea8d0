module @name@ (
  input wire clk,
  input wire reset,
  input wire start,
@ports@,
  output reg done,
  output reg overflow  // a register left its range: the outputs mean nothing
);
  localparam W = @width@, SEGMENTS = @depth@, REST = 2'd0, SUM = 2'd1, UPDATE = 2'd2, READ = 2'd3;
  reg signed [@top@:0] y [0:W-1];  // registers, with @above@ bits more than a word, @guard@ of them behind the point
  reg signed [@top@:0] d [0:@slots@-1];  // sums: derivatives times the step, in the end outputs
  reg signed [31:0] z [0:W];  // the words that are multiplied; the last one is 1
  reg [31:0] pc, slot, step, segment;
  reg stage;
  reg [1:0] phase;
  integer n;

  reg [31:0] i, j, k, shift;  // the term at pc
  reg signed [31:0] m;
  reg final;  // the last one of its segment
  always @* begin
    i = 0; j = 0; k = 0; m = 0; shift = 1; final = 1;
    case (pc)
@terms@      default: ;
    endcase
  end

  reg [31:0] first, steps;  // of the segment
  always @* begin
    first = 0; steps = 1;
    case (segment)
@segments@      default: ;
    endcase
  end

  wire signed [63:0] both = z[j] * z[k] + 64'sd@half@;
  wire signed [63:0] product = both >>> @point@;
  wire signed [63:0] scaled = (product * m + (64'sd1 <<< (shift - 1))) >>> shift;
  wire signed [@top@:0] moved = y[slot] + (stage ? d[slot] : d[slot] >>> 1);
  wire signed [@top@:0] word = (moved + @sum@'sd@half_word@) >>> @guard@;
@outputs@
  always @(posedge clk) begin
    if (reset) begin
      phase <= REST; done <= 0; overflow <= 0;
    end else case (phase)
      REST: if (start) begin
        for (n = 0; n < W; n = n + 1) begin y[n] <= 0; z[n] <= 0; end
        for (n = 0; n < @slots@; n = n + 1) d[n] <= 0;
        z[W] <= 32'sd@one@;
@load@        pc <= 0; slot <= 0; step <= 0; segment <= 0; stage <= 0; done <= 0; overflow <= 0;
        phase <= SEGMENTS == 0 ? READ : SUM;
      end
      SUM, READ: begin
        d[i] <= d[i] + scaled[@top@:0];
        pc <= pc + 1;
        if (final) begin
          phase <= phase == SUM ? UPDATE : REST;
          done <= phase == READ;
        end
      end
      UPDATE: begin
        z[slot] <= word[31:0];
        d[slot] <= 0;
        if (stage) y[slot] <= moved;
        if (word[@top@:32] != {@above@{word[31]}}) overflow <= 1;
        slot <= slot + 1;
        if (slot == W - 1) begin
          slot <= 0;
          stage <= !stage;
          phase <= SUM;
          if (!stage || step + 1 != steps) pc <= first;
          if (stage) step <= step + 1;
          if (stage && step + 1 == steps) begin
            step <= 0;
            segment <= segment + 1;
            if (segment + 1 == SEGMENTS) phase <= READ;
          end
        end
      end
    endcase
  end
endmodule
