#include "bridgemark/pair/custom_pair.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "bridgemark/core/error.h"
#include "bridgemark/pair/family_numbers.h"
#include "tests/io/io_testing.h"

namespace bridgemark {
namespace {

using testing::error_of;

PairSpec spec_with(const std::function<void(PairParts&)>& change) {
  PairParts parts;
  change(parts);
  return custom_spec(std::move(parts));
}

std::string refusal(const std::function<void(PairParts&)>& change) {
  return error_of<InvalidArgument>([&] { spec_with(change); });
}

TEST(CustomPair, NamesAndNumbersReachTheSpec) {
  const PairSpec plain = spec_with([](PairParts&) {});
  EXPECT_EQ(plain.reference, ReferenceKind::kGaussian);
  EXPECT_FALSE(plain.source) << "build_pair's own";
  EXPECT_EQ(plain.dim, PairSpec{}.dim);
  EXPECT_EQ(plain.num_categories, PairSpec{}.num_categories);

  const PairSpec named = spec_with([](PairParts& parts) {
    parts.reference = "uniform";
    parts.source = "uniform";
    parts.dim = 3;
    parts.num_categories = 8;
    parts.spec.gamma = 0.2;
  });
  EXPECT_EQ(named.reference, ReferenceKind::kUniform);
  ASSERT_TRUE(named.source);
  EXPECT_EQ(named.source->kind(), SourceKind::kUniform);
  EXPECT_EQ(named.source->dim(), 3u);
  EXPECT_EQ(named.source->num_categories(), 8);
  EXPECT_EQ(named.source->low(), -3.0);
  EXPECT_EQ(named.source->high(), 3.0);
  EXPECT_EQ(named.gamma, 0.2);
}

TEST(CustomPair, ArraysDecideTheSizes) {
  const PairSpec matrix = spec_with([](PairParts& parts) {
    parts.reference = Matrix<double>(2, 2, 0.5);
    parts.source = States(4, 3, 1);
  });
  EXPECT_EQ(matrix.reference, ReferenceKind::kMatrix);
  EXPECT_EQ(matrix.num_categories, 2);
  EXPECT_EQ(matrix.dim, 3);
  EXPECT_EQ(matrix.source->kind(), SourceKind::kEmpirical);

  const PairSpec pmf =
      spec_with([](PairParts& parts) { parts.source = Matrix<double>(5, 4, 0.25); });
  EXPECT_EQ(pmf.dim, 5);
  EXPECT_EQ(pmf.num_categories, 4);
  EXPECT_EQ(pmf.source->kind(), SourceKind::kProduct);

  const PairSpec potential = spec_with([](PairParts& parts) {
    parts.spec.potential = CpPotential({0.0, 0.0}, Array3<double>(6, 7, 2, 0.5));
  });
  EXPECT_EQ(potential.dim, 6);
  EXPECT_EQ(potential.num_categories, 7);
  EXPECT_EQ(potential.num_components, 2);
}

TEST(CustomPair, RefusalsNameTheArgument) {
  EXPECT_EQ(refusal([](PairParts& parts) { parts.reference = "matrix"; }),
            "[pair] reference must be gaussian, uniform, birth-death, absorbing, a matrix [S,S], "
            "factors of low rank or a graph, got 'matrix'");
  EXPECT_EQ(refusal([](PairParts& parts) { parts.source = "product"; }),
            "[pair] source must be gaussian, uniform, a pmf [D,S] or states [n,D], got 'product'");
  EXPECT_EQ(refusal([](PairParts& parts) { parts.source = States(1, 2); }),
            "[pair] num_categories must be given with a source of states, got none");
  EXPECT_EQ(refusal([](PairParts& parts) {
              parts.dim = 3;
              parts.num_categories = 5;
              parts.source = States(1, 2);
            }),
            "[pair] dim must be the same in all arguments, got [2, 3]");
  EXPECT_EQ(refusal([](PairParts& parts) {
              parts.reference = Matrix<double>(3, 3, 1.0 / 3.0);
              parts.source = Matrix<double>(1, 4, 0.25);
            }),
            "[pair] num_categories must be the same in all arguments, got [3, 4]");
  EXPECT_EQ(refusal([](PairParts& parts) {
              parts.dim = -3;
              parts.source = "uniform";
            }),
            "[pair] dim must lie in 1..1048576, got -3");
  EXPECT_EQ(refusal([](PairParts& parts) {
              parts.dim = 1 << 30;  // refused before memory is taken
              parts.source = "uniform";
            }),
            "[pair] dim must lie in 1..1048576, got 1073741824");
}

TEST(CustomPair, SiblingsOfPresetsHaveNamesOfTheirOwn) {
  const PairSpec preset = *find_preset("d2-gaussian-0.02");
  const PairSpec sibling = sibling_of(preset, 7);
  EXPECT_EQ(sibling.name, "d2-gaussian-0.02-seed-7");
  EXPECT_EQ(sibling.seed, 7u);
  EXPECT_NE(preset.seed, 7u);
}

TEST(FamilyNumbers, AreThoseOfTheSpec) {
  PairSpec spec;
  spec.radius = 1.5;
  spec.min_distance = 2.5;
  spec.switch_rate = 0.5;
  const std::map<std::string_view, double> expected{
      {"radius", 1.5}, {"min_distance", 2.5}, {"switch_rate", 0.5}};
  for (const FamilyNumber& number : family_numbers()) {
    EXPECT_EQ(spec.*number.value, expected.at(number.name)) << number.name;
  }
  EXPECT_EQ(family_numbers().size(), expected.size());
}

TEST(CustomPair, ATreeIsNamedOrOnesOwn) {
  PairParts parts;
  parts.spec.family = PairFamily::kTree;
  parts.dim = 9;
  parts.tree = std::string("quadtree");
  EXPECT_EQ(*build_pair(custom_spec(parts)).bridge().tree(), TreeShape::quadtree(3));
  parts.tree.reset();
  EXPECT_EQ(*build_pair(custom_spec(parts)).bridge().tree(), TreeShape::binary(9));
  parts.dim.reset();
  parts.tree = TreeShape({-1, 0, 0}, {1, 2, 2});  // says D
  EXPECT_EQ(build_pair(custom_spec(parts)).dim(), 3u);
  parts.spec.family = PairFamily::kChain;
  EXPECT_EQ(error_of<InvalidArgument>([&] { custom_spec(parts); }),
            "[pair] tree goes with family tree and a potential that is drawn, got family chain");
}

TEST(FamilyNumbers, AreRefusedWhereTheyWouldDoNothing) {
  PairSpec spec;
  spec.family = PairFamily::kChain;
  set_family_number(spec, "switch_rate", 0.25);
  EXPECT_EQ(spec.switch_rate, 0.25);
  const auto message = [&](std::string_view name) {
    return error_of<InvalidArgument>([&] { set_family_number(spec, name, 2.0); });
  };
  EXPECT_EQ(message("radius"), "[pair] radius goes with family sphere, got 2 and family chain");
  EXPECT_EQ(message("width"), "[pair] no family takes a number 'width'");
  spec.potential = CpPotential({0.0}, Array3<double>(2, 50, 1, 0.5));
  EXPECT_EQ(message("switch_rate"),
            "[pair] switch_rate goes with a family's potential, got 2 and a potential of your own");
  spec.family = PairFamily::kTwoSided;  // still draws the other end's potential
  set_family_number(spec, "min_distance", 3.0);
  EXPECT_EQ(spec.min_distance, 3.0);
}

}  // namespace
}  // namespace bridgemark
