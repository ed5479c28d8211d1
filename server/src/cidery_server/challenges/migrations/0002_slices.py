from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("challenges", "0001_initial")]

    operations = [
        migrations.RemoveConstraint(model_name="score", name="scored_once"),
        migrations.AddField(
            model_name="challenge", name="packed_slices", field=models.BinaryField(null=True)
        ),
        migrations.AddField(
            model_name="score",
            name="slice",
            field=models.CharField(blank=True, default="", max_length=80),
        ),
        migrations.AddConstraint(
            model_name="score",
            constraint=models.UniqueConstraint(
                fields=("submission", "reference_set", "metric", "slice"), name="scored_once"
            ),
        ),
    ]
